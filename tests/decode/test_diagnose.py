import numpy as np

from napari_onnxseg.decode.diagnose import Feed, count_classes, diagnose, diagnose_matte

FEED = Feed("divided by 255", "grey copied to red, green, blue", (0, 4095), 0.5)


def test_a_varied_result_needs_no_diagnosis():
    counts = count_classes(np.array([[0, 1], [1, 2]], np.uint8), 3)
    np.testing.assert_array_equal(counts, [1, 2, 1])
    assert diagnose(counts, 0, FEED) == ()


def test_counts_have_a_place_for_every_class():
    assert count_classes(np.zeros((2, 2), np.uint16), 300).shape == (300,)


def test_one_class_everywhere_names_what_to_check():
    (sentence,) = diagnose(np.array([0, 16]), 0, FEED, ("background", "nucleus"))
    for words in (
        "class 1 (nucleus)",
        "divided by 255",
        "grey copied",
        "0 to 4095",
        "normalisation",
        "channel order",
        "value range",
        "threshold 0.5",
    ):
        assert words in sentence


def test_a_feed_without_threshold_or_range_says_nothing_of_them():
    (sentence,) = diagnose(np.array([16, 0]), 0, Feed("as it is", "RGB"))
    assert "class 0." in sentence
    assert "threshold" not in sentence
    assert "None" not in sentence


def test_scores_that_are_not_numbers_are_counted_and_not_also_called_one_class():
    (partly,) = diagnose(np.array([12, 4]), 3, FEED)
    assert "3 of 16" in partly
    (wholly,) = diagnose(np.array([16, 0]), 16, FEED)
    assert "16 of 16" in wholly


def test_a_matte_without_subject_or_background_is_explained():
    assert diagnose_matte(0.0, 1.0, 0, 100, FEED) == ()
    (nothing,) = diagnose_matte(0.0, 0.02, 0, 100, FEED)
    assert "No subject" in nothing
    assert "0.02" in nothing
    (everything,) = diagnose_matte(0.97, 1.0, 0, 100, FEED)
    assert "No background" in everything
    (broken,) = diagnose_matte(0.0, 0.0, 100, 100, FEED)
    assert "100 of 100" in broken
