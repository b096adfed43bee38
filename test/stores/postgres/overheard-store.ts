/** A store on PostgreSQL of which a test sees the statements that have names. */
import { onTestFinished } from 'vitest'
import { systemClock } from '../../../src/core/clock.ts'
import { postgresPort } from '../../../src/stores/postgres/port.ts'
import { targetOf } from '../../../src/stores/postgres/target.ts'
import { remoteStore } from '../../../src/stores/remote/store.ts'
import type { Store } from '../../../src/store.ts'

export interface OverheardStore {
  readonly store: Store
  /** The statements that have names, in their order. */
  readonly names: string[]
}

interface Options {
  readonly url: string
  readonly schema: string
  /** Is awaited before each statement that has a name is sent. What it throws is thrown in place of the answer. */
  readonly before?: ((name: string) => Promise<void>) | undefined
}

export async function overheardStore({ url, schema, before }: Options): Promise<OverheardStore> {
  const names: string[] = []
  const target = targetOf({ url })
  const connect: typeof target.connect = async () => {
    const link = await target.connect()
    const query = link.query.bind(link)
    link.query = async (text, values, name) => {
      if (name !== undefined) {
        names.push(name)
        await before?.(name)
      }
      return query(text, values, name)
    }
    return link
  }
  const store = remoteStore(postgresPort({ ...target, connect, schema, transitionsMax: 10_000, clock: systemClock }))
  await store.open({ clock: systemClock })
  onTestFinished(() => store.close())
  return { store, names }
}
