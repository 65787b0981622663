import type { Option, Texts } from "./options";

const SECRET = { type: "password", autocomplete: "new-password" } as const;
const PLAIN = { type: "text", autocomplete: "off" } as const;

interface Props {
  options: readonly Option[];
  texts: Texts;
  changed: (texts: Texts) => void;
}

/** A field for each option; those that nobody has to give are behind a fold. */
export function OptionFields({ options, texts, changed }: Props) {
  const field = (option: Option) => <OptionField key={option.name} option={option} text={texts[option.name] ?? ""} changed={(text) => changed({ ...texts, [option.name]: text })} />;
  const others = options.filter((option) => !option.isRequired);
  return (
    <>
      {options.filter((option) => option.isRequired).map(field)}
      {others.length > 0 && (
        <details>
          <summary>{`${others.length} further ${others.length === 1 ? "option" : "options"}`}</summary>
          {others.map(field)}
        </details>
      )}
    </>
  );
}

/** A field for one option, with what it is for. */
export function OptionField({ option, text, changed }: { option: Option; text: string; changed: (text: string) => void }) {
  const id = `option-${option.name}`;
  return (
    <div class="field">
      <label for={id}>
        <span>
          {option.name}
          {option.isRequired && " (required)"}
        </span>
      </label>
      {option.choices.length > 0 ? (
        <select id={id} required={option.isRequired} value={text} aria-describedby={`${id}-about`} onChange={(event) => changed(event.currentTarget.value)}>
          <option value="">{option.usual ? `default: ${option.usual}` : option.isRequired ? "Choose one" : "not set"}</option>
          {option.choices.map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      ) : (
        <input
          id={id}
          {...(option.isSecret ? SECRET : PLAIN)}
          spellcheck={false}
          required={option.isRequired}
          placeholder={option.usual}
          value={text}
          aria-describedby={`${id}-about`}
          onInput={(event) => changed(event.currentTarget.value)}
        />
      )}
      <p id={`${id}-about`} class="hint">
        {option.about}
        {option.isSecret && " Stored encrypted, never shown."}
      </p>
    </div>
  );
}
