/** Numbers in words: `1 message`, `1,312 messages`. */

export const grouped = (count: number): string => count.toLocaleString('en-US')

/** A number with what it counts. @param nouns of more than one */
export const counted = (count: number, noun: string, nouns = `${noun}s`): string =>
  `${grouped(count)} ${count === 1 ? noun : nouns}`
