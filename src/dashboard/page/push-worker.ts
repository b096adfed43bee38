/** The service worker of the page: shows what the server pushes, also while no page is open. */
import type { PushMessage } from '../push.ts'

/** Of the events of service workers, what is used here: the types of TypeScript for pages do not have them. */
interface WaitingEvent extends Event {
  readonly waitUntil: (done: Promise<unknown>) => void
}
interface PushEvent extends WaitingEvent {
  readonly data: { readonly json: () => PushMessage } | null
}
interface NotificationEvent extends WaitingEvent {
  readonly notification: Notification
}
declare const registration: ServiceWorkerRegistration
declare const clients: {
  readonly matchAll: (
    of: object,
  ) => Promise<readonly { readonly url: string; readonly focus: () => Promise<unknown> }[]>
  readonly openWindow: (url: string) => Promise<unknown>
}

/** The page is beside the folder of this file. */
const page = new URL('../', location.href).href

async function show({ title, began, more }: PushMessage): Promise<void> {
  // One that is told again takes the place of the one before.
  for (const { key, text } of began) await registration.showNotification(title, { body: text, tag: key })
  if (more > 0) await registration.showNotification(title, { body: `And ${more} more.`, tag: 'more' })
}

async function open(): Promise<void> {
  const windows = await clients.matchAll({ type: 'window', includeUncontrolled: true })
  const opened = windows.find(({ url }) => new URL('.', url).href === page)
  await (opened === undefined ? clients.openWindow(page) : opened.focus())
}

addEventListener('push', (event) => {
  const pushed = event as PushEvent
  if (pushed.data !== null) pushed.waitUntil(show(pushed.data.json()))
})
addEventListener('notificationclick', (event) => {
  const clicked = event as NotificationEvent
  clicked.notification.close()
  clicked.waitUntil(open())
})
