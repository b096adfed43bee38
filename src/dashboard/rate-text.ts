/** Rates in words, in the page and on the command line. */

/**
 * A rate in the unit that gives it a number to be read: per second, minute or hour.
 * @param per what stands between the number and the unit
 */
export function rateText(perSecond: number, per: string): string {
  if (perSecond === 0) return `0${per}s`
  if (perSecond >= 10) return `${Math.round(perSecond).toLocaleString('en-US')}${per}s`
  if (perSecond >= 0.5) return `${perSecond.toFixed(1)}${per}s`
  if (perSecond * 60 >= 1) return `${Math.round(perSecond * 60)}${per}min`
  return `${Math.max(1, Math.round(perSecond * 3_600))}${per}h`
}
