"""The meter: relates our token counts to providers' budgets and reported usage.

A view is the list of messages that is sent to a provider. Other parts of a host (judges, session namers, sub-agents)
call providers too, so a report counts for a view only if it is from the same session and provider, comes before the
next assistant message, and is within `PLAUSIBLE` times the prediction. The first report may be larger by any factor,
because the overhead is not known yet. After `DOUBTS` implausible reports in a row, the calibration begins anew. The
part of a host that drives the conversation may claim the view (`claim`) and report its usage; then other reports are
ignored.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from .calibration import Calibration
from .refused_as_too_long import limit_after, refuses_as_too_long
from .usage import ReportedUsage, read_usage

logger = logging.getLogger(__name__)

PLAUSIBLE = (0.5, 3.0)
DOUBTS = 3
_DOUBT = 1.15
"""The factor by which a view may exceed its prediction once there was a report."""

Recorder = Callable[..., None]


@dataclass(slots=True)
class _UnansweredView:
    """A view that was handed out and has no answer yet."""

    provider: str
    counted: int
    predicted: int
    continues: bool
    line: Hashable
    claimed: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of one usage report."""

    provider: str
    model: str
    counted: int
    predicted: int
    actual: int
    cached: int
    """The part of the actual tokens that the provider read from its cache."""
    calibration: Calibration
    limit: int | None = None
    """The provider's window, in our tokens, if a refusal showed that the window is smaller than the provider says; else
    None."""
    overflow: bool = False
    """Whether the provider refused the view as too long; `actual` is 0 then."""
    written: int = 0
    """The part of the actual tokens that the provider wrote to its cache."""
    output: int | None = None
    """The output tokens; None if the provider does not report output tokens."""
    compaction: ReportedUsage | None = None
    """Tokens that the provider bills in addition for compacting the conversation; None if there are none."""

    def payload(self) -> dict[str, Any]:
        """Return the payload of the event `context:usage`."""
        return {
            "provider": self.provider,
            "model": self.model,
            "counted_tokens": self.counted,
            "predicted_tokens": self.predicted,
            "actual_tokens": self.actual,
            "cached_tokens": self.cached,
            "cache_write_tokens": self.written,
            "output_tokens": self.output,
            "ratio": round(self.calibration.ratio, 4),
            "overhead_tokens": self.calibration.overhead_tokens,
            "limit_tokens": self.limit,
            "overflow": self.overflow,
        }

    def record(self) -> dict[str, Any]:
        """Return the fields of the control record that the log stores."""
        fields = {**self.payload(), "state": self.calibration.to_record()}
        if (billed := self.compaction) is not None:
            counts = {
                "input_tokens": billed.uncached,
                "cache_read_input_tokens": billed.cached,
                "cache_creation_input_tokens": billed.written,
                "output_tokens": billed.output,
            }
            fields["compaction_usage"] = counts
        return fields


class Meter:
    """The calibrations of one session, one for each provider and model.

    Args:
        enabled: whether budgets are corrected. Reports are recorded in any case.
        session_id: reports that name another session are ignored.

    Attributes:
        readings: the readings that are not in the log yet. Whoever stores a reading removes it from the list.
    """

    def __init__(self, *, enabled: bool, session_id: str | None) -> None:
        self._enabled = enabled
        self._session_id = session_id
        self.readings: list[Reading] = []
        self._known: dict[tuple[str, str], Calibration] = {}
        self._models: dict[str, str] = {}
        self._lines: dict[tuple[str, str], Hashable] = {}
        self._handed: _UnansweredView | None = None
        self._doubts = 0
        self._limits: dict[str, int] = {}

    def load(self, records: Mapping[tuple[str, str], Mapping[str, Any]]) -> None:
        """Restore the calibrations from the usage records of earlier processes, oldest first."""
        for (provider, model), record in records.items():
            try:
                self._known[provider, model] = Calibration.from_record(record["state"])
            except (KeyError, ValueError) as error:
                logger.warning("a usage record cannot be read and is passed over: %s", error)
            else:
                self._models[provider] = model
                limit = record.get("limit_tokens")
                if isinstance(limit, int) and limit > 0:
                    self._limits[provider] = limit

    def counted_budget(self, provider: str, budget_tokens: int) -> int:
        """Return how many of our tokens fit into a provider's budget."""
        known = self._calibration(provider)
        counted = budget_tokens
        if self._enabled and known.observations:
            step = max(1, budget_tokens // 100)  # rounded to steps, so that a small change of the ratio has no effect
            counted = max(step, known.counted_budget(budget_tokens) // step * step)
        return min(counted, self._limits.get(provider, counted))

    def hand_out(self, provider: str, counted: int, line: Hashable) -> None:
        """Remember a view that is sent to a provider, with a prediction of its size in the provider's tokens.

        Args:
            provider: the provider's name.
            counted: the view's size in our tokens.
            line: a value that stays the same while each view continues the one before it.
        """
        known = self._calibration(provider)
        continues = line == self._lines.get((provider, self._models.get(provider, "")))
        predicted = known.predict(counted, continues=continues)
        self._handed = _UnansweredView(provider, counted, predicted, continues, line)

    def may_exceed(self, provider: str, counted: int, budget_tokens: int) -> bool:
        """Return whether a view may be larger than the provider's budget.

        The margin is larger before the first report, because predictions may then be far off. If budgets are not
        corrected, the result is False.
        """
        known = self._calibration(provider)
        doubt = _DOUBT if known.observations else PLAUSIBLE[1]
        return self._enabled and known.predict(counted, continues=False) * doubt > budget_tokens

    def take_count(self, provider: str, model: str, counted: int, actual: int, most: int) -> bool:
        """Learn from a provider's count of a view that is not sent yet.

        Return whether this count exceeds `most` tokens.

        Args:
            provider: the name of the provider.
            model: the name of the model.
            counted: our count of the view, in tokens.
            actual: the provider's count of the view, in tokens.
            most: the limit to compare with, in tokens.
        """
        model = self._models.setdefault(provider, model)
        known = self._known.get((provider, model), Calibration())
        self._known[provider, model] = known.observe(counted, actual, continues=False)
        if actual > most:
            fits = max(1, counted * most // actual)
            self._limits[provider] = min(fits, self._limits.get(provider, fits))
        return actual > most

    def answered(self) -> None:
        """Forget the view that was sent, because its answer was added: later reports do not belong to the view."""
        self._handed = None

    def learn_from_response(self, event: Mapping[str, Any]) -> None:
        """Learn from the usage that an `llm:response` event reports."""
        handed = self._handed
        if handed is not None and not handed.claimed and self._is_own(event, handed):
            self._take(handed, str(event.get("model") or ""), event.get("usage"))

    def learn_from_error(self, event: Mapping[str, Any]) -> None:
        """Handle a `provider:error` event: a view that was refused as too long shows the size of the window."""
        handed = self._handed
        if handed is None or not refuses_as_too_long(event) or not self._is_own(event, handed):
            return
        self._handed = None  # only the first refusal of a view counts
        limit = limit_after(handed.counted)
        self._limits[handed.provider] = limit
        model = str(event.get("model") or self._models.get(handed.provider, ""))
        self._models.setdefault(handed.provider, model)
        known = self._known.get((handed.provider, model), Calibration())
        self.readings.append(
            Reading(
                handed.provider,
                model,
                counted=handed.counted,
                predicted=handed.predicted,
                actual=0,
                cached=0,
                calibration=known,
                limit=limit,
                overflow=True,
            )
        )

    def _is_own(self, event: Mapping[str, Any], handed: _UnansweredView) -> bool:
        """Return whether an event is from this session and from the provider that got the view."""
        if not of_session(event, self._session_id):
            return False
        provider = event.get("provider")
        if not handed.provider or not provider:
            return True
        return bool(handed.provider == provider)

    def claim(self) -> Recorder:
        """Claim the current view and return a recorder; only usage that is given to the recorder counts for the view.

        The recorder takes `input_tokens=` and `cache_write_tokens=`, and optionally `model=`, `cache_read_tokens=` and
        `output_tokens=`.
        """
        handed = self._handed
        if handed is not None:
            handed.claimed = True

        def record(
            *,
            input_tokens: int,
            cache_write_tokens: int = 0,
            cache_read_tokens: int = 0,
            output_tokens: int | None = None,
            model: str = "",
        ) -> None:
            usage = {
                "output_tokens": output_tokens,
                "input_tokens": input_tokens,
                "cache_write_tokens": cache_write_tokens,
                "cache_read_tokens": cache_read_tokens,
            }
            if handed is not None and handed is self._handed:
                self._take(handed, model or self._models.get(handed.provider, ""), usage)

        return record

    def _take(self, handed: _UnansweredView, model: str, reported: Any) -> None:
        usage = read_usage(reported)
        if usage is None or not usage.input_tokens:
            return
        key = (handed.provider, model)
        actual = usage.input_tokens
        known = self._known.get(key, Calibration())
        lowest_share, highest_share = PLAUSIBLE
        is_too_low = actual < lowest_share * handed.predicted
        is_too_high = actual > highest_share * handed.predicted and known.observations > 0
        if is_too_low or is_too_high:
            logger.info("a report of %d tokens for a view of about %d is not its own", actual, handed.predicted)
            self._doubts += 1
            if self._doubts < DOUBTS:
                return
            known = Calibration()
        self._doubts = 0
        self._handed = None
        learned = known.observe(handed.counted, actual, continues=handed.continues)
        self._known[key] = learned
        self._lines[key] = handed.line
        self._models[handed.provider] = model
        limit = self._limits.get(handed.provider)
        self.readings.append(
            Reading(
                handed.provider,
                model,
                counted=handed.counted,
                predicted=handed.predicted,
                actual=actual,
                cached=usage.cached,
                calibration=learned,
                limit=limit,
                written=usage.written,
                output=usage.output,
                compaction=usage.compaction,
            )
        )

    def _calibration(self, provider: str) -> Calibration:
        return self._known.get((provider, self._models.get(provider, "")), Calibration())


def of_session(event: Mapping[str, Any], session_id: str | None) -> bool:
    """Return whether an event may be from a session: it names this session or no session."""
    return session_id is None or event.get("session_id") in (None, session_id)
