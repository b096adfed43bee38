/**
 * A member of a job's meta as people type it: `tenant=7`. Numbers and booleans are read as such, unless they are in
 * quotes: `tenant="7"`.
 * @returns null if the text is not of this form
 */
export function metaMember(text: string): readonly [name: string, value: string | number | boolean] | null {
  const at = text.indexOf('=')
  if (at < 1) return null
  const value = text.slice(at + 1)
  if (value.length > 2 && /^".*"$/.test(value) && plain.test(value.slice(1, -1)))
    return [text.slice(0, at), value.slice(1, -1)]
  const isPlain = plain.test(value)
  return [text.slice(0, at), isPlain ? (JSON.parse(value) as number | boolean) : value]
}

const plain = /^(-?\d+(\.\d+)?|true|false)$/

/** A member as `metaMember` reads it. */
export function metaText(name: string, value: string | number | boolean): string {
  const text = String(value)
  return typeof value === 'string' && plain.test(text) ? `${name}="${text}"` : `${name}=${text}`
}
