/** The dispatcher's lanes, most urgent first. */
export const Lane = { control: 0, cancel: 1, settle: 2, start: 3, wake: 4, idle: 5 } as const
export const laneCount = 6
