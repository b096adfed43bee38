/** Values of rows that a store has in another form, and that are made when they are read. */

/** A value that is made when it is read. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- it is what `valueOf` infers
export abstract class Deferred<T> {
  abstract get(): T
}

/** A value as JSON, as a store keeps it. It is parsed each time that it is read: most are not. */
export class Packed<T> extends Deferred<T> {
  readonly json: string

  constructor(json: string) {
    super()
    this.json = json
  }

  get(): T {
    // The store has written the text from a value of this type.
    return JSON.parse(this.json) as T
  }
}

/** A value, or what it is made from. */
export type Cell<T> = T | Deferred<T>

export const valueOf = <T>(cell: Cell<T>): T => (cell instanceof Deferred ? cell.get() : cell)

/** The text of a value, which is not parsed if it is there as text; null for undefined. */
export const jsonOf = (cell: Cell<unknown>): string | null => {
  if (cell === undefined) return null
  if (cell instanceof Packed) return cell.json
  const value = valueOf(cell)
  return value === undefined ? null : JSON.stringify(value)
}
