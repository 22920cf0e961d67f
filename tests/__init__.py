"""The tests, in the rooms of the package; what they share is in `tests.support`."""

import sys

if "pytest" in sys.modules:  # what fails in `tests.support` is shown as in a test; the writers there run without pytest
    import pytest

    pytest.register_assert_rewrite("tests.support")
