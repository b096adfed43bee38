/** When a schedule fires, in words: `At 03:00, Monday through Friday`. */
import cronstrue from 'cronstrue'

const units: Readonly<Record<string, string>> = { s: 'second', m: 'minute', h: 'hour', d: 'day' }

/** @returns null for a text that the library has no words for: the text alone is shown then */
export function scheduleWords(spec: string): string | null {
  const [, count, unit = ''] = /^@every ([\d.]+)(ms|[smhd])$/.exec(spec) ?? []
  if (count !== undefined) {
    const name = units[unit]
    if (name === undefined) return `Every ${count} ${unit}`
    return count === '1' ? `Every ${name}` : `Every ${count} ${name}s`
  }
  try {
    const words = cronstrue.toString(spec, { use24HourTimeFormat: true })
    return /^At [\d:]+$/.test(words) ? `${words}, every day` : words
  } catch {
    return null
  }
}
