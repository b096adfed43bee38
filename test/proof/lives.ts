/** Simulated lives: 10,000 on the memory store, 100 on a SQLite file. */
import { replay } from '../simulation/command.ts'
import { live } from '../simulation/life.ts'
import { stores, type StoreFactory } from '../simulation/stores.ts'
import type { Proof } from './proof.ts'

const livesOn: Readonly<Record<string, number>> = { memory: 10_000, sqlite: 100 }

export const lives: Proof = {
  name: 'lives',
  claim: 'the engine keeps every promise while its store, its processes and its clocks fail',
  async run({ seed, scale }) {
    const failures: string[] = []
    for (const [store, count] of Object.entries(livesOn)) {
      for (let life = seed; life < seed + count * scale; life++) {
        const { broken } = await live(life, stores[store] as StoreFactory)
        if (broken.length > 0) failures.push(`${broken[0]}; ${replay(store, life)}`)
      }
    }
    const counts = Object.entries(livesOn).map(([store, count]) => `${count * scale} on ${store}`)
    return { summary: `lives: ${counts.join(', ')}`, failures }
  },
}
