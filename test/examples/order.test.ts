/** The order program as its users run it: two processes on one file, and a third that only looks when all is over. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Entry } from '../../examples/order/ledger.ts'
import { runProgram } from '../harness/processes.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { repositoryRoot } from '../support/tidy/repository.ts'

const program = join(repositoryRoot, 'examples/order/main.ts')
const orders = 10
const summary =
  '10 orders have ended: 10 done, 0 dead, 0 cancelled; 8 shipped, 2 refunded; 5 approved, 5 by their timer\n'

async function run(folder: string, ...more: string[]): Promise<string> {
  const files = [
    '--db',
    join(folder, 'orders.db'),
    '--ledger',
    join(folder, 'ledger.jsonl'),
    '--orders',
    String(orders),
  ]
  const { exitCode, stdout, stderr } = await runProgram(program, [...files, ...more])
  expect(exitCode, stderr).toBe(0)
  return stdout
}

test('two processes bring every order to its end, and each effect happens under one key', async () => {
  const folder = temporaryFolder()
  const { path } = folder
  onTestFinished(() => folder.remove())
  expect(await Promise.all([run(path, '--work'), run(path, '--work')])).toEqual([summary, summary])
  expect(await run(path), 'whoever comes later finds all done').toBe(summary)

  const lines = readFileSync(join(path, 'ledger.jsonl'), 'utf8').trimEnd().split('\n')
  const entries = lines.map((line) => JSON.parse(line) as Entry & { readonly at: number })
  for (let n = 1; n <= orders; n++) {
    const own = entries.filter(({ order }) => order === `order-${n}`)
    const refused = n % 5 === 0
    expect(own.filter(({ what }) => what === 'completed').map(({ effect }) => effect)).toEqual(
      refused ? ['charge', 'refund', 'email'] : ['charge', 'ship', 'email'],
    )
    expect(new Set(own.filter(({ what }) => what === 'begun').map(({ key }) => key)).size).toBe(3)
    expect(own.at(-1)).toMatchObject({ what: 'ended', state: refused ? 'refunded' : 'shipped' })
    const timer = own.find(({ what }) => what === 'timer')
    const fired = own.find(({ what }) => what === 'fired')
    expect(fired?.deadline).toBe(n % 2 === 0 ? undefined : timer?.deadline)
    if (fired !== undefined) expect(fired.at).toBeGreaterThanOrEqual(fired.deadline ?? Infinity)
  }
})
