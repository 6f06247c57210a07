"""GeoPackage, the map format of QGIS: a SQLite database, written without further packages.

References
----------
OGC 12-128r18, GeoPackage Encoding Standard 1.3.1: clauses 1.1 (tables), 2.1.3 (geometry).
"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass

_OWN_SRS = 100_000  # of a map without a code

_TABLES = """
PRAGMA application_id = 1196444487;
PRAGMA user_version = 10301;
CREATE TABLE gpkg_spatial_ref_sys (
  srs_name TEXT NOT NULL, srs_id INTEGER PRIMARY KEY, organization TEXT NOT NULL,
  organization_coordsys_id INTEGER NOT NULL, definition TEXT NOT NULL, description TEXT);
CREATE TABLE gpkg_contents (
  table_name TEXT NOT NULL PRIMARY KEY, data_type TEXT NOT NULL, identifier TEXT UNIQUE,
  description TEXT DEFAULT '',
  last_change DATETIME NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ','now')),
  min_x DOUBLE, min_y DOUBLE, max_x DOUBLE, max_y DOUBLE, srs_id INTEGER,
  CONSTRAINT fk_gc_r_srs_id FOREIGN KEY (srs_id) REFERENCES gpkg_spatial_ref_sys(srs_id));
CREATE TABLE gpkg_geometry_columns (
  table_name TEXT NOT NULL, column_name TEXT NOT NULL, geometry_type_name TEXT NOT NULL,
  srs_id INTEGER NOT NULL, z TINYINT NOT NULL, m TINYINT NOT NULL,
  CONSTRAINT pk_geom_cols PRIMARY KEY (table_name, column_name),
  CONSTRAINT fk_gc_tn FOREIGN KEY (table_name) REFERENCES gpkg_contents(table_name),
  CONSTRAINT fk_gc_srs FOREIGN KEY (srs_id) REFERENCES gpkg_spatial_ref_sys (srs_id));
INSERT INTO gpkg_spatial_ref_sys VALUES
  ('Undefined Cartesian SRS', -1, 'NONE', -1, 'undefined', NULL),
  ('Undefined geographic SRS', 0, 'NONE', 0, 'undefined', NULL);
"""

_WGS84 = (
    'GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563]],'
    'PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433],AUTHORITY["EPSG","4326"]]'
)

Rings = list[list[tuple[float, float]]]


@dataclass(frozen=True, slots=True)
class Srs:
    """The coordinate system of a map.

    Parameters
    ----------
    wkt : str
        Its definition, empty for plain pixels.
    epsg : int or None
        Its code.
    """

    wkt: str = ""
    epsg: int | None = None

    @property
    def number(self) -> int:
        """Id within the file."""
        return -1 if not self.wkt else self.epsg or _OWN_SRS


@dataclass(frozen=True, slots=True)
class Row:
    """One polygon.

    Parameters
    ----------
    number : int
        Class or object.
    name : str
        Of the class.
    rings : list of list of (float, float)
        Outer border and holes, closed.
    """

    number: int
    name: str
    rings: Rings


def geopackage(table: str, rows: Iterable[Row], srs: Srs) -> bytes:
    """Return a GeoPackage with one table of polygons.

    Parameters
    ----------
    table : str
        Name of the table.
    rows : iterable of Row
        Its polygons.
    srs : Srs
        Their coordinates.

    Returns
    -------
    bytes
        The file.
    """
    quoted = '"' + table.replace('"', '""') + '"'
    with closing(sqlite3.connect(":memory:")) as base:
        base.executescript(_TABLES)
        for known in (Srs(_WGS84, 4326), srs):
            _describe(base, known)
        base.execute(
            f"CREATE TABLE {quoted} (fid INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, "
            "geom POLYGON, class INTEGER, name TEXT)"
        )
        extent = [float("inf")] * 2 + [float("-inf")] * 2
        for row in rows:
            box = _box(row.rings)
            extent = [*map(min, extent[:2], box[:2]), *map(max, extent[2:], box[2:])]
            values = (_geometry(row.rings, box, srs.number), row.number, row.name)
            base.execute(f"INSERT INTO {quoted} (geom, class, name) VALUES (?, ?, ?)", values)
        known_extent = [None if abs(edge) == float("inf") else edge for edge in extent]
        base.execute(
            "INSERT INTO gpkg_contents (table_name, data_type, identifier, min_x, min_y, max_x, "
            "max_y, srs_id) VALUES (?, 'features', ?, ?, ?, ?, ?, ?)",
            (table, table, *known_extent, srs.number),
        )
        base.execute(
            "INSERT INTO gpkg_geometry_columns VALUES (?, 'geom', 'POLYGON', ?, 0, 0)",
            (table, srs.number),
        )
        base.commit()
        return base.serialize()


def _describe(base: sqlite3.Connection, srs: Srs) -> None:
    """Enter a coordinate system."""
    if srs.number <= 0:
        return
    organization = "NONE" if srs.epsg is None else "EPSG"
    values = (f"{organization} {srs.number}", srs.number, organization, srs.number, srs.wkt)
    base.execute("INSERT OR REPLACE INTO gpkg_spatial_ref_sys VALUES (?, ?, ?, ?, ?, NULL)", values)


def _box(rings: Rings) -> list[float]:
    """Return the least and greatest x and y: min x, min y, max x, max y."""
    xs, ys = zip(*rings[0], strict=True)
    return [min(xs), min(ys), max(xs), max(ys)]


def _geometry(rings: Rings, box: list[float], srs_id: int) -> bytes:
    """Return a polygon as GeoPackage stores it: a header with its box, then WKB."""
    header = b"GP" + struct.pack("<BBi4d", 0, 0b11, srs_id, box[0], box[2], box[1], box[3])
    body = struct.pack("<BII", 1, 3, len(rings))
    for ring in rings:
        flat = [value for point in ring for value in point]
        body += struct.pack(f"<I{len(flat)}d", len(ring), *flat)
    return header + body
