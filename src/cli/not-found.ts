/** Errors for jobs that do not exist. */
import { JobchartError } from '../core/errors.ts'

export const noJob = (id: string): JobchartError =>
  new JobchartError('NOT_FOUND', `job ${id} is not in the store`, {
    hint: 'It was pruned or discarded, or --store names another store.',
  })
