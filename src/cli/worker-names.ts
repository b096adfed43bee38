/** Names of workers, by which people know them: jobs and their histories have ids. */
import type { Client } from '../index.ts'

export class WorkerNames {
  private readonly client: Client
  private readonly names = new Map<string, string>()

  constructor(client: Client) {
    this.client = client
  }

  /** The name of a worker; its id if the store does not have it any more, and '' if there is none. */
  async of(id: string | null | undefined): Promise<string> {
    if (id === null || id === undefined) return ''
    if (!this.names.has(id)) {
      for (const worker of await this.client.workers({ inputs: false })) this.names.set(worker.id, worker.name)
    }
    const name = this.names.get(id) ?? id
    this.names.set(id, name)
    return name
  }
}
