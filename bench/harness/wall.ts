/** A clock that processes of one machine share: ms since the epoch, in fractions of a µs. */
export const wallMs = (): number => performance.timeOrigin + performance.now()
