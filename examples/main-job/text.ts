/** Numbers and tables as people read them. */

export const count = (value: number): string => value.toLocaleString('en-US')

export const plural = (value: number, noun: string): string => `${count(value)} ${noun}${value === 1 ? '' : 's'}`

export const percent = (share: number): string => `${Math.round(share * 100)} %`

export function bytes(value: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  let unit = 0
  let rest = value
  for (; rest >= 999.5 && unit < units.length - 1; unit++) rest /= 1_000
  return `${rest < 9.95 && unit > 0 ? rest.toFixed(1) : Math.round(rest)} ${units[unit]}`
}

export function duration(ms: number): string {
  if (ms < 9.95) return `${ms.toFixed(1)} ms`
  if (ms < 999.5) return `${Math.round(ms)} ms`
  if (ms < 59_950) return `${(ms / 1_000).toFixed(1)} s`
  const seconds = Math.round(ms / 1_000)
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}

/** At most `width` characters of a path: its end says more than its beginning. */
export const clip = (path: string, width: number): string =>
  path.length <= width ? path : `…${path.slice(path.length - Math.max(0, width - 1))}`

export interface Column {
  readonly cells: readonly string[]
  readonly pad: 'padStart' | 'padEnd'
}

export const left = (head: string, cells: readonly string[]): Column => ({ cells: [head, ...cells], pad: 'padEnd' })

export const right = (head: string, cells: readonly string[]): Column => ({ cells: [head, ...cells], pad: 'padStart' })

/** Lines of columns side by side. */
export function table(columns: readonly Column[]): string[] {
  const lines: string[] = (columns[0]?.cells ?? []).map(() => '')
  for (const { cells, pad } of columns) {
    const width = Math.max(...cells.map((cell) => cell.length))
    cells.forEach((cell, i) => (lines[i] += `  ${cell[pad](width)}`))
  }
  return lines.map((line) => line.trimEnd())
}
