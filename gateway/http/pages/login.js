// A code in the address is used at once, and taken out of the address and of the browser's history.
const form = document.getElementById("login");
const code = document.getElementById("code");
if (location.pathname === "/login" && new URLSearchParams(location.search).has("code")) {
  history.replaceState(null, "", "/login");
  if (code.value) form.requestSubmit();
}
