"""The garbage collector is paused while much is parsed, and left as it was found."""

from __future__ import annotations

import gc

import pytest

from amplifier_module_context_persistent.window.message_source import collector_paused


@pytest.fixture(autouse=True)
def _collecting():
    yield
    gc.enable()


@pytest.mark.parametrize("enabled", [True, False])
def test_it_is_left_as_it_was_found(enabled):
    """Within, nothing is collected; after, also after an error, it is as before."""
    (gc.enable if enabled else gc.disable)()
    with collector_paused():
        assert not gc.isenabled()
        with collector_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled() is enabled
    with pytest.raises(KeyError), collector_paused():
        raise KeyError
    assert gc.isenabled() is enabled
