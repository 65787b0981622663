/** The SQL of scripts, for colours and completion: words that the engine has no use for are not offered. */
import { SQLDialect } from "@codemirror/lang-sql";

export const KEYWORDS =
  "select from where group by order having join left right inner full outer cross on as and or not in is null case when then else end create table view with insert into values union all distinct interval between like over partition desc asc exists primary key temporary if generated always stored watermark for cast limit lateral unnest similar escape rows range unbounded preceding following current row";

const TYPES =
  "bigint int integer smallint tinyint unsigned double float real decimal numeric text varchar string boolean timestamp date time bytea bytes json struct array true false";

export const DIALECT = SQLDialect.define({
  keywords: KEYWORDS,
  types: TYPES,
  builtin: "",
  operatorChars: "+-*/<>=~!@#%^&|?:",
  specialVar: "",
  charSetCasts: true,
});
