"""Message templates by name, over `arroyo` (the report) and the context of a callback."""

from __future__ import annotations

MESSAGES = {
    "line": "{{ arroyo.headline }}{% if arroyo.url %} {{ arroyo.url }}{% endif %}",
    "text": """\
{{ arroyo.headline }}
{%- if arroyo.unknown %}
  why: {{ arroyo.unknown }}
{%- endif %}
{%- if arroyo.why %}
  cause: {{ arroyo.why }}
{%- endif %}
{%- if arroyo.hint %}
  what to do: {{ arroyo.hint }}
{%- endif %}
  progress: {{ arroyo.progress }}
  state: {{ arroyo.state_kept }}
{%- if arroyo.url %}
  page: {{ arroyo.url }}
{%- endif %}
{%- if ti is defined %}
  task: {{ ti.dag_id }}.{{ ti.task_id }} in {{ ti.run_id }}
{%- endif %}""",
    "markdown": """\
**{{ arroyo.headline }}**
{% if arroyo.unknown %}
- why: {{ arroyo.unknown }}
{%- endif %}
{%- if arroyo.why %}
- cause: {{ arroyo.why }}
{%- endif %}
{%- if arroyo.hint %}
- what to do: {{ arroyo.hint }}
{%- endif %}
- progress: {{ arroyo.progress }}
- state: {{ arroyo.state_kept }}
{%- if ti is defined %}
- task: `{{ ti.dag_id }}.{{ ti.task_id }}` in `{{ ti.run_id }}`
{%- endif %}
{%- if arroyo.url %}

[{{ arroyo.pipeline }}]({{ arroyo.url }})
{%- endif %}""",
    "html": """\
<p><b>{{ arroyo.headline | e }}</b></p><ul>
{%- if arroyo.unknown %}<li>why: {{ arroyo.unknown | e }}</li>{% endif %}
{%- if arroyo.why %}<li>cause: {{ arroyo.why | e }}</li>{% endif %}
{%- if arroyo.hint %}<li>what to do: {{ arroyo.hint | e }}</li>{% endif %}
<li>progress: {{ arroyo.progress | e }}</li><li>state: {{ arroyo.state_kept | e }}</li>
{%- if ti is defined %}<li>task: {{ ti.dag_id | e }}.{{ ti.task_id | e }} in {{ ti.run_id | e }}</li>{% endif %}</ul>
{%- if arroyo.url %}<p><a href="{{ arroyo.url | e }}">{{ arroyo.pipeline | e }}</a></p>{% endif %}""",
}


def template_of(message: str) -> str:
    """The message of that name, or the template that it is itself; a word that is neither is refused."""
    if message in MESSAGES:
        return MESSAGES[message]
    if "{{" not in message and "{%" not in message:
        raise ValueError(f"message is {', '.join(MESSAGES)} or a template with {{{{ arroyo... }}}}, not {message!r}")
    return message
