/**
 * A member of a job's meta as people type it: `tenant=7`. Numbers and booleans are read as such.
 * @returns null if the text is not of this form
 */
export function metaMember(text: string): readonly [name: string, value: string | number | boolean] | null {
  const at = text.indexOf('=')
  if (at < 1) return null
  const value = text.slice(at + 1)
  const isPlain = /^(-?\d+(\.\d+)?|true|false)$/.test(value)
  return [text.slice(0, at), isPlain ? (JSON.parse(value) as number | boolean) : value]
}
