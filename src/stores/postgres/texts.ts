/**
 * Texts in columns. A server refuses zero bytes, and a driver replaces half characters (lone surrogates): texts that
 * have them are written with escapes, and so are those with a backslash, so that no two texts become the same.
 */
export const columnText = (text: string): string =>
  text.isWellFormed() && !text.includes('\0') && !text.includes('\\') ? text : JSON.stringify(text).slice(1, -1)

export const textOfColumn = (column: string): string =>
  column.includes('\\') ? (JSON.parse(`"${column}"`) as string) : column

/** The name of a schema, as it stands in a statement. */
export const quotedName = (name: string): string => `"${name.replaceAll('"', '""')}"`

/** A list in a list: PostgreSQL has no lists of lists of different lengths, so that each is passed as a text. */
export const listText = (items: readonly string[]): string | null =>
  items.length === 0
    ? null
    : `{${items.map((item) => `"${columnText(item).replaceAll(/["\\]/g, String.raw`\$&`)}"`).join(',')}}`
