"""Puts the example DAGs into the wheel as `airflow_provider_arroyo/example_dags`, where Airflow looks for the examples
of a provider. In the repository they are in `dags_examples/` only. All else about the package is in `pyproject.toml`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent
SOURCE = ROOT / "dags_examples"
TARGET = "airflow_provider_arroyo/example_dags"


def example_files() -> list[Path]:
    """Return the example DAGs with what they read: not the demonstration, which `make demo` plays in the repository."""
    found = [*SOURCE.rglob("*.py"), *SOURCE.rglob("*.sql"), SOURCE / ".airflowignore"]
    return sorted(path for path in found if not path.name.startswith("demo"))


class BuildWithExamples(build_py):
    """The build step that copies Python files, and then the example DAGs."""

    def run(self) -> None:
        """Copy all files; an editable install has the examples in the repository."""
        super().run()
        for source, target in self._examples().items():
            self.mkpath(str(Path(target).parent))
            self.copy_file(source, target)

    def get_outputs(self, *arguments: Any, **options: Any) -> list[str]:
        """Return all files of the build, the examples among them."""
        return [*super().get_outputs(*arguments, **options), *self._examples()]

    def _examples(self) -> dict[str, str]:
        if self.editable_mode:
            return {}
        target = Path(self.build_lib, TARGET)
        return {str(path): str(target / path.relative_to(SOURCE)) for path in example_files()}


if __name__ == "__main__":  # as setuptools runs it
    setup(cmdclass={"build_py": BuildWithExamples})
