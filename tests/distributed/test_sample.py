"""The sample of many parts."""

import numpy as np
import pandas as pd
import pytest

from skim.distributed._sample import draw, merge


def samples_of(n_parts, length, n_rows, seed=0):
    parts = [np.arange(i * length, (i + 1) * length)[:, None] for i in range(n_parts)]
    return [
        draw(part, str(i), i, seed=seed, n_rows=n_rows) for i, part in enumerate(parts)
    ]


def test_the_order_of_merging_does_not_matter():
    samples = samples_of(7, 50, 60)
    whole = merge(samples, 60)
    pairs = merge([merge(samples[4:], 60), merge(samples[:4][::-1], 60)], 60)
    np.testing.assert_array_equal(whole.rows, pairs.rows)
    np.testing.assert_array_equal(whole.numbers, pairs.numbers)
    assert whole.n_seen == pairs.n_seen == 350
    assert len(whole.rows) == len(np.unique(whole.rows)) == 60
    assert (np.diff(whole.rows[:, 0]) > 0).all()


def test_of_equal_keys_the_first_parts_count():
    samples = [
        sample._replace(keys=sample.keys // 2**61) for sample in samples_of(4, 9, 9)
    ]
    whole = merge(samples, 10)
    turned = merge([merge(samples[:1:-1], 10), merge(samples[1::-1], 10)], 10)
    assert len(whole.rows) == 10
    np.testing.assert_array_equal(whole.rows, turned.rows)


def test_keys_known_to_be_too_large_change_nothing():
    samples = samples_of(2, 100, 30)
    bound = int(samples[0].keys.max())
    part = np.arange(100, 200)[:, None]
    few = draw(part, "1", 1, seed=0, n_rows=30, below=bound)
    assert len(few.rows) <= 30
    whole, bounded = merge(samples, 30), merge([samples[0], few], 30)
    np.testing.assert_array_equal(whole.rows, bounded.rows)


def test_every_row_is_as_likely_as_any_other():
    counts = np.zeros(40)
    for seed in range(500):
        parts = samples_of(1, 10, 8, seed), samples_of(4, 10, 8, seed)[1:]
        chosen = merge([sample for few in parts for sample in few], 8).rows[:, 0]
        counts[chosen] += 1
    # 100 expected, with a standard deviation of 9
    assert counts.sum() == 8 * 500
    assert np.abs(counts - 100).max() < 40


def test_rare_values_are_the_same_in_whatever_order_parts_are_merged():
    flags = [[0, 0, 0], [1, 1, 1], [0, 0, 2], [3, 0, 0]]
    samples = [
        draw(pd.DataFrame({"a": 1.0, "flag": few}), str(i), i, seed=0, n_rows=1)
        for i, few in enumerate(flags)
    ]
    for order in ([0, 1, 2, 3], [3, 1, 0, 2], [2, 3, 1, 0]):
        merged = samples[order[0]]
        for i in order[1:]:
            merged = merge([merged, samples[i]], 1)
        assert [row[:3] for row in merged.rare_rows["flag"]] == [(0, 0, 0), (1, 0, 1)]
        assert len(merged.rare_rows["a"]) == 1


def test_a_part_with_another_type_is_named():
    parts = {"good": [1.0, 2.0], "bad": ["x", "y"], "unknown": [None, None]}
    samples = [
        draw(pd.DataFrame({"a": values}), name, i, seed=0, n_rows=9)
        for i, (name, values) in enumerate(parts.items())
    ]
    assert len(merge([samples[0], samples[2]], 9).rows) == 4
    with pytest.raises(ValueError, match="bad has text in column 'a', but good has n"):
        merge(samples, 9)
