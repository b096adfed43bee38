export default function Page() {
  return <h1>Orders</h1>
}
