/** What the server says of itself and of the user. */
import { signal } from '@preact/signals'

export interface About {
  readonly title: string
  readonly role: 'admin' | 'read'
  readonly version: string
}

export const about = signal<About>({ title: document.title, role: 'read', version: '' })
