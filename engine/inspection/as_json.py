"""Convert inspection results to plain values, for the API and the command line."""

from __future__ import annotations

from dataclasses import asdict

from engine.inspection.epochs import StateListing
from engine.inspection.summary import StateSummary


def summary_to_json(summary: StateSummary) -> dict[str, object]:
    """A summary; what is not known is null, and `unknown` beside it says why."""
    shown = asdict(summary)
    shown["directory"] = str(summary.directory)
    shown["parents"] = [list(parent) for parent in summary.parents]
    for operator, figures in zip(summary.operators, shown["operators"], strict=True):
        figures["skew"] = operator.skew
    return shown


def listing_to_json(listing: StateListing) -> dict[str, object]:
    """A listing, with whether each epoch can be restored."""
    shown = asdict(listing)
    shown["directory"] = str(listing.directory)
    for epoch, fields in zip(listing.epochs, shown["epochs"], strict=True):
        fields["is_restorable"] = epoch.is_restorable
    return shown
