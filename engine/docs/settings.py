"""Reference of the control plane's settings, and of environment variables."""

from __future__ import annotations

from engine.docs.markdown import code, page, section, table
from engine.docs.models import spell_default, spell_type, walk_settings
from engine.settings import PREFIX, Settings
from engine.values.environment import VARIABLES

_INTRODUCTION = (
    "A value comes from, strongest first: the command line, the environment, a TOML file, the default. In the file, "
    "the part of a name before the dot is a section."
)


def settings_page() -> str:
    """Every setting with its name in a file and in the environment; then what only the environment can say."""
    rows = [
        [
            code(name),
            code(PREFIX + name.replace(".", "__").upper()),
            spell_type(info.annotation),
            spell_default(info.get_default(call_default_factory=True)),
            info.description or "",
        ]
        for name, info in walk_settings(Settings)
    ]
    variables = [[code(variable.name), variable.read_by, variable.meaning] for variable in VARIABLES]
    return page(
        "Settings",
        _INTRODUCTION,
        [
            table(["setting", "environment", "value", "default", "what it does"], rows),
            section(
                "Other environment variables",
                "A name that ends in `_` stands for all names that begin so.",
                table(["variable", "read by", "what it does"], variables),
            ),
        ],
    )
