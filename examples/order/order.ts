/** An order, as its job gets it. */
export interface Order {
  /** The job's, too. */
  readonly id: string
  readonly pounds: number
  /** Empty: it cannot be shipped, and what was paid goes back. */
  readonly address: string
  /** Does somebody approve it? If not, it counts as approved after `patienceMs`. */
  readonly approvedBy: 'event' | 'timer'
  readonly patienceMs: number
}
