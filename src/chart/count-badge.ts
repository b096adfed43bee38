/** The badge with the number of jobs in a state, as it is drawn and as the page keeps it current. */

/** The width in px that is kept for a count. */
export const countWidth = 48

/** A number as it fits into a badge: 999, 9,999, 12.3K, 123K, 4M; what is more than 999T is `999T+`. */
export function shortNumber(count: number): string {
  if (Math.abs(count) < 10_000) return count.toLocaleString('en-US')
  if (Math.abs(count) >= 999.5e12) return count < 0 ? '-999T+' : '999T+'
  const short = compact(count, 1)
  return /^-?\d{3}/.test(short) ? compact(count, 0) : short
}

const compact = (count: number, maximumFractionDigits: number): string =>
  new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits }).format(count)

/** The width of a badge with this text, within `countWidth`. */
export const countBadgeWidth = (text: string): number => Math.max(20, Math.min(countWidth - 4, text.length * 6.5 + 10))
