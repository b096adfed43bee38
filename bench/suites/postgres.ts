/** The benchmarks of the PostgreSQL store. */
import { enqueue, features, processing } from '../postgres/work.ts'
import type { Suite } from '../suite.ts'

export const suite: Suite = {
  store: 'postgres',
  main: ['enqueue', 'process'],
  place: () => 'A PostgreSQL server of its own per section, on this machine, which keeps what it commits',
  sections: [enqueue, processing, features],
}
