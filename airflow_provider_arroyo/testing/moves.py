"""Moves in the control plane in memory, at both ends. Background work is done at the second poll."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

KEY = "the-key-of-a-move"
_NEXT = {"release": "released", "over": "over"}


@dataclass
class FakeMoves:
    """Pipelines that leave a control plane, and those that arrive, by id."""

    departures: dict[str, dict[str, Any]] = field(default_factory=dict)
    arrivals: dict[str, dict[str, Any]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    """Reasons why an `export` or `import` fails."""

    def depart(
        self, method: str, action: list[str], pipeline: Any, body: Any, *, is_dry: bool
    ) -> dict[str, Any] | None:
        """Answer a request about a pipeline's export; None if there is nothing to answer."""
        known = self.departures.get(pipeline.id)
        match method, action:
            case "GET", []:
                return {"data": [] if known is None else [known], "has_more": False, "hasMore": False}
            case "POST", []:
                passport = {"pipeline_id": pipeline.id, "name": pipeline.name, "runs": pipeline.stop == "none"}
                fresh = {"step": "leaving", **body, "passport": passport, "key": None, "task": None}
                if not is_dry:
                    self.departures[pipeline.id] = fresh
                    pipeline.stop = "checkpoint"
                    pipeline.become("Stopped")
                return fresh
            case "DELETE", [] if known is not None:
                del self.departures[pipeline.id]
                pipeline.stop = "none"
                pipeline.become("Running")
                return {}
            case "POST", ["export"] if known is not None:
                if known["step"] == "leaving":
                    self._work(known, "export", "exported")
                return known
            case "POST", ["release" | "over" as step] if known is not None:
                known |= {"step": _NEXT[step], "key": KEY}
                return known
        return None

    def arrive(self, method: str, rest: list[str], body: Any) -> dict[str, Any] | None:
        """Answer a request about an import; None if there is nothing to answer."""
        match method, rest:
            case "POST", ["check"]:
                return {"targets": []}
            case "POST", []:
                passport = body["passport"]
                fresh = {"pipeline_id": passport["pipeline_id"], "name": passport["name"], "step": None, "is_up": False}
                known = self.arrivals.setdefault(passport["pipeline_id"], fresh | {"task": None, "state": None})
                if known["step"] is None:
                    self._work(known, "import", "arrived")
                return known
            case "GET", [pipeline]:
                return self.arrivals.get(pipeline)
            case "DELETE", [pipeline]:
                self.arrivals.pop(pipeline, None)
                return {}
            case "POST", [pipeline, "start"] if pipeline in self.arrivals and body["key"] == KEY:
                self.arrivals[pipeline] |= {"step": "started", "state": "Running", "is_up": True}
                return self.arrivals[pipeline]
        return None

    def _work(self, known: dict[str, Any], kind: str, step: str) -> None:
        if known["task"] is None:
            known["task"] = {"state": "running", "message": None}
        elif kind in self.failures:
            known["task"] = {"state": "failed", "message": self.failures[kind]}
        else:
            known |= {"step": step, "task": {"state": "done", "message": None}}
