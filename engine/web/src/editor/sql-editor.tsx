import { autocompletion, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { sql } from "@codemirror/lang-sql";
import { HighlightStyle, bracketMatching, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, lintGutter, setDiagnostics } from "@codemirror/lint";
import { Compartment, EditorState, type Extension } from "@codemirror/state";
import { EditorView, drawSelection, highlightActiveLine, hoverTooltip, keymap, lineNumbers, placeholder } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "preact/hooks";
import { allOf, ask } from "../api/client";
import type { Complaint, Completions, ConnectionTable } from "../api/types";
import { spelled } from "../format";
import { functionAt, offer } from "./completions";
import { DIALECT } from "./dialect";
import { placeOf } from "./places";

interface Props {
  /** What the text begins with; another one takes the place of what is written. */
  loaded: { text: string };
  complaints: readonly Complaint[];
  changed: (text: string) => void;
  /** Control and Enter. */
  submit: () => void;
  /** Control, Shift and Enter. */
  preview: () => void;
}

const COLOURS = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--line-1)", fontWeight: "600" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--line-3)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--line-2)" },
  { tag: tags.comment, color: "var(--soft)", fontStyle: "italic" },
  { tag: [tags.typeName, tags.standard(tags.name)], color: "var(--line-4)" },
]);

const THEME = EditorView.theme({
  "&": { height: "100%", backgroundColor: "var(--panel)", color: "var(--ink)", fontSize: "13px" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: 'ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace', lineHeight: "1.5" },
  ".cm-gutters": { backgroundColor: "var(--panel)", color: "var(--soft)", borderRight: "1px solid var(--line)" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "transparent" },
  "&.cm-focused .cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--mark) 45%, transparent)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "color-mix(in srgb, var(--accent) 30%, transparent) !important" },
  ".cm-tooltip": { backgroundColor: "var(--panel)", color: "var(--ink)", border: "1px solid var(--line)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent-back)", color: "#fff" },
  ".function-card": { padding: "6px 10px", maxWidth: "440px" },
  ".function-card p": { margin: "4px 0 0" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--bad)" },
  ".cm-placeholder": { color: "var(--soft)" },
});

const words = new Compartment();

/** Offers what a script may say, and explains functions, once the control plane has said what there is. */
async function offerWords(editor: EditorView, isThere: () => boolean): Promise<void> {
  const [all, tables] = await Promise.all([ask<Completions>("GET", "/completions"), allOf<ConnectionTable>("/connection_tables").catch(() => [])]);
  if (!isThere()) return;
  const stored = Object.fromEntries(tables.map((table) => [table.name, table.schema.fields.map((field) => String(field["name"]))]));
  editor.dispatch({ effects: words.reconfigure([DIALECT.language.data.of({ autocomplete: offer(all, stored) }), explain(all)]) });
}

/** Shows how the function below the pointer is called, and what it gives. */
function explain(all: Completions): Extension {
  return hoverTooltip((view, pos) => {
    const found = functionAt(all, view.state.doc.toString(), pos);
    if (found === null) return null;
    return { pos: found.from, end: found.to, above: true, create: () => ({ dom: card(found.usage, found.about) }) };
  });
}

function card(usage: string, about: string): HTMLElement {
  const box = document.createElement("div");
  const head = box.appendChild(document.createElement("code"));
  head.textContent = spelled(usage);
  box.appendChild(document.createElement("p")).textContent = spelled(about);
  box.className = "function-card";
  return box;
}

/** A text of SQL with its colours, and with complaints where they belong. In a shadow root, where its styles are no
 * markup: the policy of the page refuses any other. */
export function SqlEditor({ loaded, complaints, changed, submit, preview }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const calls = useRef({ changed, submit, preview });
  calls.current = { changed, submit, preview };

  useEffect(() => {
    if (!place.current) return;
    const root = place.current.shadowRoot ?? place.current.attachShadow({ mode: "open" });
    const call = (what: "submit" | "preview") => () => {
      calls.current[what]();
      return true;
    };
    view.current = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: loaded.text,
        extensions: [
          lineNumbers(),
          history(),
          drawSelection(),
          highlightActiveLine(),
          bracketMatching(),
          autocompletion(),
          lintGutter(),
          sql({ dialect: DIALECT, upperCaseKeywords: true }),
          words.of([]),
          syntaxHighlighting(COLOURS),
          THEME,
          EditorView.domEventHandlers({ beforeinput: typeOverSelection }),
          placeholder("CREATE TABLE ... WITH (connector = ...); INSERT INTO ... SELECT ..."),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ "aria-label": "SQL" }),
          keymap.of([{ key: "Mod-Enter", run: call("submit"), shift: call("preview") }, ...completionKeymap, ...historyKeymap, ...defaultKeymap]),
          EditorView.updateListener.of((update) => update.docChanged && calls.current.changed(update.state.doc.toString())),
        ],
      }),
    });
    const made = view.current;
    let isThere = true;
    offerWords(made, () => isThere).catch(() => undefined); // it is written without them, too
    return () => {
      isThere = false;
      made.destroy();
    };
  }, []);

  useEffect(() => {
    const editor = view.current;
    if (editor && editor.state.doc.toString() !== loaded.text) editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: loaded.text } });
  }, [loaded]);

  useEffect(() => {
    const editor = view.current;
    if (!editor) return;
    const written = editor.state.doc.toString();
    const found = complaints.filter(({ span }) => span).map<Diagnostic>((complaint) => ({ ...placeOf(written, complaint.span!.start), severity: "error", message: spelled(complaint.message) }));
    editor.dispatch(setDiagnostics(editor.state, found));
  }, [complaints]);

  return <div ref={place} class="sql-editor" />;
}

/** What is typed over a selection takes its place here: the browser would give it the style of what was there, by markup
 * that the policy of the page refuses. */
function typeOverSelection(event: InputEvent, view: EditorView): boolean {
  if (event.inputType !== "insertText" || event.data === null || event.isComposing || view.state.selection.main.empty) return false;
  event.preventDefault();
  view.dispatch(view.state.update(view.state.replaceSelection(event.data), { userEvent: "input.type", scrollIntoView: true }));
  return true;
}
