/** Texts that try to be more than text, made by a counter: the same ones in every run. */

const TAGS = ["<script>broken()</script>", "<img src=x onerror=broken()>", "<svg/onload=broken()>", "</td></table><iframe src=javascript:broken()>", "<!--", "]]>", "<style>*{display:none}</style>", "<a href='javascript:broken()'>x</a>", "<base href=//x>", "<math><mi//xlink:href=x>"];
const BIDI = ["\u202e", "\u202d", "\u2066", "\u2067", "\u2068", "\u2069", "\u200f", "\u061c"];
const CONTROLS = ["\0", "\u0001", "\u0007", "\b", "\v", "\f", "\r", "\n", "\t", "\u001b[31m", "\u007f", "\u0085", "\u2028", "\u2029", "\ufeff", "\ufffe"];
const SIGNS = ["\"", "'", "`", "&lt;", "&#x3c;", "${7*7}", "{{7*7}}", "%3Cscript%3E", "\\u003cscript>", "e\u0301\u0302\u0303", "👩‍👩‍👧", "\ud800", "\udfff", "İ", "ﷺ", "__proto__", "constructor", "--reset ", "before version 9", "Running to Running"];
const WORDS = ["orders", "SELECT", "a b", "", "0", "null", "-", "日本語", "عربي"];
const KINDS = [TAGS, BIDI, CONTROLS, SIGNS, WORDS];

export function hostile(count: number): string[] {
  let state = 20_261_126;
  const random = (below: number) => (state = (state * 48_271) % 2_147_483_647) % below;
  const piece = () => {
    const kind = KINDS[random(KINDS.length)]!;
    return kind[random(kind.length)]!;
  };
  return Array.from({ length: count }, (_, at) => {
    const text = Array.from({ length: 1 + random(7) }, piece).join(random(2) === 0 ? "" : " ");
    return at % 500 === 499 ? text.repeat(2_000) : text;
  });
}
