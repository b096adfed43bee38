/** Groups of failures that people have put together: all of them are one small value. */
import { mergesAfter, type FailureMerge } from '../../core/failure-merges.ts'
import type { Store } from '../../store.ts'
import type { RemoteDriver } from './driver.ts'

const field = 'all'

const mergesFrom = (text: string | null | undefined): readonly FailureMerge[] =>
  JSON.parse(text ?? '[]') as readonly FailureMerge[]

export function failureMergesOf(
  driver: () => RemoteDriver,
  values: (kind: 'failure-merges') => Promise<readonly string[]>,
): Pick<Store, 'failureMerges'> {
  return {
    async failureMerges(change) {
      if (change !== undefined) {
        const needs = [{ kind: 'cell', cells: 'failure-merges', field }] as const
        await driver().write(
          (each) => {
            const merges = mergesAfter(mergesFrom(each.cell('failure-merges', field)), change)
            each.setCell('failure-merges', field, merges.length === 0 ? null : JSON.stringify(merges))
          },
          { needs },
        )
      }
      const [text] = await values('failure-merges')
      return mergesFrom(text)
    },
  }
}
