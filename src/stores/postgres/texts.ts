/**
 * Texts in columns. A server refuses zero bytes, and a driver replaces half characters (lone surrogates): texts that
 * have them are written with escapes, and so are those with a backslash, so that no two texts become the same.
 */
export const columnText = (text: string): string =>
  text.isWellFormed() && !text.includes('\0') && !text.includes('\\') ? text : JSON.stringify(text).slice(1, -1)

export const columnOrNull = (text: string | null | undefined): string | null =>
  text === null || text === undefined ? null : columnText(text)

export const textOfColumn = (column: string): string =>
  column.includes('\\') ? (JSON.parse(`"${column}"`) as string) : column

/** A concurrency key as it is in a column. */
export const concurrencyColumn = (key: string | null): string => (key === null ? '' : `=${columnText(key)}`)

/** The name of a schema, as it stands in a statement. */
export const quotedName = (name: string): string => `"${name.replaceAll('"', '""')}"`

const quoted = (item: string): string => `"${item.replaceAll(/["\\]/g, String.raw`\$&`)}"`

/** A list of texts of columns, as a text: PostgreSQL has no lists of lists of different lengths. */
export const listText = (items: readonly string[]): string => `{${items.map(quoted).join(',')}}`

/** The values of a search: `$1[n]` names each in its text. Those of a list are in columns as they are. */
export class Params {
  readonly values: string[] = []

  add(value: string | number | readonly string[]): string {
    return `$1[${this.values.push(typeof value === 'object' ? listText(value) : String(value))}]`
  }
}
