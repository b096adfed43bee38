/** One machine with many child jobs: what each of them costs, from the enqueue of the machine to its end. */
import { createRuntime, defineJob, fromJob } from '../../src/index.ts'
import { NotVerified } from '../harness/ledger.ts'
import { storeAt, type StoreLocation } from '../harness/stores.ts'
import { timed, type Timed } from '../harness/timed.ts'
import { gathering } from './charts.ts'

export interface ChildrenParams {
  readonly children: number
  readonly slots: number
  /** Null: in memory. */
  readonly location: StoreLocation | null
}

/** Machines of a tenth as many children, until code is compiled. */
const warmUps = 3

/** @throws NotVerified unless the machine has got the output of each child once */
export async function measure({ children, slots, location }: ChildrenParams): Promise<Timed> {
  const child = defineJob<{ i: number }, number>({ type: 'child', run: ({ i }) => i })
  const parent = defineJob({ type: 'parent', machine: gathering(fromJob(child)) })
  const runtime = createRuntime({
    jobs: [parent, child],
    ...(location !== null && { store: await storeAt(location) }),
    concurrency: slots,
  })
  await runtime.start()
  const once = async (count: number): Promise<void> => {
    const { sum } = await (await runtime.enqueue(parent, { count })).result()
    const right = (count * (count - 1)) / 2
    if (sum !== right) throw new NotVerified(`the outputs of ${count} children add up to ${sum}, not to ${right}`)
  }
  for (let i = 0; i < warmUps; i++) await once(Math.ceil(children / 10))
  const figures = await timed(children, () => once(children))
  await runtime.stop()
  return figures
}
