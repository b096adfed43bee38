/** The benchmarks of the PostgreSQL store. */
import { enqueue, processing } from '../postgres/work.ts'
import type { Suite } from '../suite.ts'

export const suite: Suite = {
  store: 'postgres',
  place: () => 'A PostgreSQL server of its own per section, on this machine, which keeps what it commits',
  sections: [enqueue, processing],
}
