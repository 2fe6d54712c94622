/** Characters that are invisible or change the direction of text, so that two texts are indistinguishable. */
const unseen = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]|[\p{Default_Ignorable_Code_Point}\u2800]/gu

const short: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

function escapeOne(c: string): string {
  const code = c.codePointAt(0) ?? 0
  return (
    short[c] ??
    (code < 0x10000 ? '\\u' + code.toString(16).padStart(4, '0') : '\\U' + code.toString(16).padStart(8, '0'))
  )
}

/** Escapes invisible characters, as `cairn diff` does. */
export function safe(text: string): string {
  return text.replace(unseen, escapeOne)
}

/** As safe, for one line of a log or of an engine's text: tabs stay. */
export function safeLine(text: string): string {
  return text.replace(unseen, (c) => (c === '\t' ? c : escapeOne(c)))
}

/** As safe, for text of several lines: tabs and line breaks stay. */
export function safeText(text: string): string {
  return text.replace(unseen, (c) => (c === '\t' || c === '\n' ? c : escapeOne(c)))
}
