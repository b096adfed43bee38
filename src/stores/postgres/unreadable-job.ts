/** A job of which something cannot be read, because something else has changed the tables. */
export class UnreadableJob extends Error {
  override readonly name = 'UnreadableJob'
  /** Its id as its column has it, if that is known; otherwise its document tells it. */
  readonly id: string | null
  readonly doc: string

  constructor(doc: string, facts: string | null, cause: unknown) {
    super('a stored job cannot be read', { cause })
    this.id = facts === null ? null : (JSON.parse(facts) as [id: string])[0]
    this.doc = doc
  }
}
