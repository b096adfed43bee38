/** The badge with the number of jobs in a state, as it is drawn and as the page keeps it current. */

/** The width in px that is kept for a count. */
export const countWidth = 44

/** A number as it fits into a badge: 999, 9,999, 12.3k, 4M. */
export function shortNumber(count: number): string {
  if (Math.abs(count) < 10_000) return count.toLocaleString('en-US')
  return new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 }).format(count)
}

/** The width of a badge with this text, within `countWidth`. */
export const countBadgeWidth = (text: string): number => Math.max(20, Math.min(countWidth - 4, text.length * 6.5 + 10))
