"""States of a job, spelled as in the control plane."""

from __future__ import annotations

from enum import StrEnum


class JobState(StrEnum):
    """State of a job."""

    CREATED = "Created"
    SCHEDULING = "Scheduling"
    RUNNING = "Running"
    CHECKPOINT_STOPPING = "CheckpointStopping"
    STOPPING = "Stopping"
    STOPPED = "Stopped"
    RESCALING = "Rescaling"
    RECOVERING = "Recovering"
    FINISHED = "Finished"
    FAILED = "Failed"

    @property
    def is_terminal(self) -> bool:
        """Whether the job stays here until somebody asks for something."""
        return self in {JobState.STOPPED, JobState.FINISHED, JobState.FAILED}

    @property
    def is_successful(self) -> bool:
        """Whether the job came to the end of its input."""
        return self is JobState.FINISHED
