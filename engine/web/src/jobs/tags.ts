/** Tags of pipelines: written and shown as `key` or `key=value`. */
import type { ListedPipeline } from "../api/types";

export type Tags = Record<string, string>;

/** The tags as texts, in order. */
export function tagTexts(tags: Tags | undefined): string[] {
  return Object.entries(tags ?? {})
    .map(([key, value]) => (value === "" ? key : `${key}=${value}`))
    .sort();
}

/** Read tags that are separated by spaces or commas. */
export function readTags(text: string): Tags {
  const found = text.split(/[\s,]+/).filter(Boolean);
  return Object.fromEntries(
    found.map((each) => {
      const at = each.indexOf("=");
      return at < 0 ? [each, ""] : [each.slice(0, at), each.slice(at + 1)];
    }),
  );
}

/** Whether a pipeline matches a word of the search: a tag (`tag:team=sales`, `tag:team`), a pattern with `*`, or a part
 * of the text. */
export function matchesWord(row: ListedPipeline, word: string, text: string): boolean {
  if (word.startsWith("tag:")) {
    const wanted = word.slice("tag:".length);
    return tagTexts(row.tags).some((tag) => tag.toLowerCase() === wanted || tag.toLowerCase().startsWith(`${wanted}=`));
  }
  if (word.includes("*")) return patternOf(word).test(row.name.toLowerCase());
  return text.includes(word);
}

function patternOf(word: string): RegExp {
  const parts = word.split("*").map((each) => each.replace(/[.+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`);
}
