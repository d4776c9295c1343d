from benchmarks._shared.processes import in_process, peak_megabytes


def test_the_memory_of_the_parent_does_not_count():
    assert 1 < in_process(peak_megabytes) < peak_megabytes() / 2
