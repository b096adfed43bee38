/** Durations in words, for pictures and pages. */

/** In its two largest units: `250 ms`, `9.4 s`, `2 h 5 min`. */
export function duration(ms: number): string {
  if (ms < 1) return '0 ms'
  if (ms < 1_000) return `${Math.round(ms)} ms`
  const seconds = ms / 1_000
  if (seconds < 10) return `${(Math.floor(seconds * 10) / 10).toString()} s`
  if (seconds < 60) return `${Math.floor(seconds)} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return two(minutes, 'min', Math.floor(seconds % 60), 's')
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return two(hours, 'h', minutes % 60, 'min')
  return two(Math.floor(hours / 24), 'd', hours % 24, 'h')
}

/** In one unit, for tables: `250 ms`, `9.4 s`, `2 h`, `3 d`. */
export function brief(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  const [unit, size] = units.find(([, least]) => ms >= least) ?? ['s', 1_000]
  const count = ms / size
  return `${count < 10 ? (Math.floor(count * 10) / 10).toString() : Math.floor(count)} ${unit}`
}

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
] as const

const two = (large: number, unit: string, small: number, smallUnit: string): string =>
  small === 0 ? `${large} ${unit}` : `${large} ${unit} ${small} ${smallUnit}`
