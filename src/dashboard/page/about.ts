/** What the server says of itself and of the user. */
import { signal } from '@preact/signals'

export interface About {
  readonly title: string
  readonly role: 'admin' | 'read'
  readonly version: string
  /** The public key of web push; null: this server has none. */
  readonly push: string | null
}

export const about = signal<About>({ title: document.title, role: 'read', version: '', push: null })
