import { Subject } from 'rxjs'
import { expect, test } from 'vitest'
import { dispatch, type Command } from '../../src/worker/dispatch.ts'

interface Named extends Command {
  readonly name: string
}

/** A dispatcher that writes down what it does; picks are numbered and run out after `picks`. */
function watched(picks: number, onHandle: (name: string, commands: Subject<Named>) => void = () => {}) {
  const seen: string[] = []
  const faults: unknown[] = []
  const commands = new Subject<Named>()
  let picked = 0
  const subscription = commands
    .pipe(
      dispatch<Named, string>({
        lanes: 3,
        handle: (lane, batch) => {
          seen.push(`${lane}:${batch.map(({ name }) => name).join('+')}`)
          for (const { name } of batch) onHandle(name, commands)
        },
        pick: () => (picked < picks ? `pick ${++picked}` : null),
        failed: (error) => faults.push(error),
      }),
    )
    .subscribe((pick) => {
      seen.push(pick)
      onHandle(pick, commands)
    })
  return { commands, seen, faults, subscription }
}

const turn = (): Promise<void> => Promise.resolve()

test('commands of one turn are handled by urgency, a lane at a time, before anything is picked', async () => {
  const { commands, seen } = watched(1)
  commands.next({ lane: 2, name: 'wake' })
  commands.next({ lane: 1, name: 'settle 1' })
  commands.next({ lane: 0, name: 'cancel' })
  commands.next({ lane: 1, name: 'settle 2' })
  expect(seen).toEqual([])
  await turn()
  expect(seen).toEqual(['0:cancel', '1:settle 1+settle 2', '2:wake', 'pick 1'])
})

test('a command raised while another is handled goes before the next pick', async () => {
  const { commands, seen } = watched(2, (name, raised) => {
    if (name === 'wake') raised.next({ lane: 0, name: 'raised by wake' })
    if (name === 'pick 1') raised.next({ lane: 0, name: 'raised by the pick' })
  })
  commands.next({ lane: 2, name: 'wake' })
  await turn()
  expect(seen).toEqual(['2:wake', '0:raised by wake', 'pick 1', '0:raised by the pick', 'pick 2'])
})

test('a fault in one command is told and the dispatcher goes on', async () => {
  const { commands, seen, faults } = watched(1, (name) => {
    if (name === 'bad') throw new Error('bad')
  })
  commands.next({ lane: 0, name: 'bad' })
  commands.next({ lane: 1, name: 'good' })
  await turn()
  expect(faults).toHaveLength(1)
  expect(seen).toEqual(['0:bad', '1:good', 'pick 1'])
})

test('nothing is picked after the last subscriber has gone', async () => {
  const { commands, seen, subscription } = watched(5, (name) => {
    if (name === 'pick 2') subscription.unsubscribe()
  })
  commands.next({ lane: 2, name: 'wake' })
  await turn()
  commands.next({ lane: 2, name: 'wake again' })
  await turn()
  expect(seen).toEqual(['2:wake', 'pick 1', 'pick 2'])
})
