import { createClient, type ClosableClient } from 'jobchart'
import { order, store } from './order.ts'

const kept = globalThis as { jobs?: ClosableClient }

/**
 * Every route is a bundle of its own, so the client is one for the process. In development a changed module is loaded
 * again: if that has changed an option of the job, the client that is there has another definition, and is made anew.
 */
function clientOfProcess(): ClosableClient {
  if (kept.jobs?.lists(order) === true) return kept.jobs
  void kept.jobs?.close()
  return (kept.jobs = createClient({ jobs: [order], store }))
}

export const client = clientOfProcess()
