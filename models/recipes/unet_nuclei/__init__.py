"""The recipe of the bundled model ``unet-nuclei``: data, training, decoding, export."""
