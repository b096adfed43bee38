/**
 * Before the tests: in their short form, the programs that they start are bundled. Servers of PostgreSQL begin with
 * copies of one folder.
 */
import { isLong } from './long-form.ts'
import { bundlePrograms } from './programs.ts'
import { shareClusters } from '../support/postgres-process.ts'

export default async function prepare(): Promise<() => void> {
  const removeClusters = shareClusters()
  const removePrograms = isLong ? null : await bundlePrograms()
  return () => {
    removeClusters()
    removePrograms?.()
  }
}
