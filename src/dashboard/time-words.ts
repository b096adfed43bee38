/** Durations in words, for the server's pictures and for the page. */

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

const two = (large: number, unit: string, small: number, smallUnit: string): string =>
  small === 0 ? `${large} ${unit}` : `${large} ${unit} ${small} ${smallUnit}`
