/** Objects as maps whose keys users choose: a type or an event may be called `constructor`. */

/** The member that the object has itself; what it inherits is none. */
export const ownValue = <T>(map: Readonly<Record<string, T>> | null | undefined, key: string): T | undefined =>
  map !== null && map !== undefined && Object.hasOwn(map, key) ? map[key] : undefined
